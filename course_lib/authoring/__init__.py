"""How the course is made: chapters executed, exercises derived from their solutions, claims measured."""
